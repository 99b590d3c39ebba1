# Estimates from this release alone, with the package survey: the share of each label among the posts found, and its
# standard error over posts (as drawn) and over claims (jackknife). The same numbers as `covmis estimate`.
#   Rscript estimates.R [estimates.csv]
suppressPackageStartupMessages(library(survey))
source("read_with_r.R")
labels <- LABELS
items <- merge(corpus, replicate_weights[, names(replicate_weights) != "claim_id"], by = "item_id", suffixes = c("", ".rep"))
items <- items[order(items$item_id), ]
items <- items[items$weight > 0, ]  # others are outside the population
items$automatic_label[is.na(items$automatic_label)] <- ""
p <- items$p_claim * items$p_sample
claims <- items$claim_id
repeated <- as.matrix(items[, grepl("^weight_[0-9]+$", names(items))])

# How far a sum of z/p varies from sample to sample: what the known sizes of cells do not explain, and these sizes.
variance <- function(z, size, factor, cell_variance) {
  if (is.null(items$cell)) return(sampled(z))
  slope <- ave(z / p, items$cell, FUN = sum) / ave(size / p, items$cell, FUN = sum)
  one <- !duplicated(items$cell)
  sampled(factor * (z - size * slope)) + sum(cell_variance[one] * slope[one]^2)
}

# The part of this draw. Posts drawn one by one (Poisson): survey's own formula.
sampled <- function(z) {
  alone <- items$design == "poisson"
  value <- 0
  if (any(alone)) {
    drawn <- svydesign(ids = ~1, data = data.frame(z = z[alone]), probs = p[alone], pps = poisson_sampling(p[alone]))
    value <- as.numeric(SE(svytotal(~z, drawn)))^2
  }
  for (claim in unique(claims[!alone])) value <- value + fixed_size(z, which(!alone & claims == claim))
  value
}

# A fixed number of posts a claim: Sen, Yates and Grundy where the chance of each pair is known, else Hajek.
fixed_size <- function(z, rows) {
  first <- items$p_claim[rows]; second <- items$p_sample[rows]; z <- z[rows]
  earlier <- sum((1 - first) / first^2 * z^2 / second)
  u <- z / first / second
  n <- length(rows)
  if (exists("pairs_drawn")) {
    known <- pairs_drawn[pairs_drawn$item_id %in% items$item_id[rows], ]
    if (nrow(known) > 0) {
      a <- match(known$item_id, items$item_id[rows]); b <- match(known$with_item_id, items$item_id[rows])
      return(earlier + max(0, sum((second[a] * second[b] / known$p_both - 1) * (u[a] - u[b])^2)))
    }
  }
  if (n < 2 || all(second == 1)) return(earlier)
  centre <- sum((1 - second) * u) / sum(1 - second)
  earlier + n / (n - 1) * sum((1 - second) * (u - centre)^2)
}

# Labels set by a rule, and what people add who checked some of them: each counts for its cell, what the rule labelled in a
# claim, or in this part. The values, what the draw makes of them, and the variance that the audit adds.
audited <- function(label, here, scope, weight, scale, size) {
  y <- as.numeric(items$label == label); shares <- weight * scale; omega <- weight * size
  checked <- items$how == "audited"
  by_rule <- items$automatic_label %in% setdiff(unique(items$automatic_label[checked]), "")
  if (!any(by_rule)) return(list(y = y, linear = shares * y, later = 0))
  of_claims <- scope %in% c("pool", "average claim", "claim")
  inside <- by_rule & (here | of_claims)
  cell <- ifelse(inside, if (of_claims) items$audit_cell else items$automatic_label, "")
  cell_sums <- function(values) ave(ifelse(inside, values, 0), cell, FUN = sum)
  divided <- function(top, below) ifelse(inside & below > 0, top / below, 0)
  said <- as.numeric(by_rule & items$automatic_label == label)
  counts <- ifelse(inside, ifelse(checked, divided(cell_sums(omega), cell_sums(ifelse(checked, omega / items$p_audit, 0))) / items$p_audit, 0), 1)
  own <- omega * divided(cell_sums(ifelse(checked, counts * shares * (y - said), 0)), cell_sums(omega))
  n <- pmax(cell_sums(as.numeric(checked)), 2)
  residual <- ifelse(inside & checked, sqrt(n / (n - 1)), 1) * (shares * (y - said) - own)
  later <- sum((p * counts * pmax(counts - 1, 0) * residual^2)[inside & checked])
  for (rule in unique(items$automatic_label[by_rule & shares > 0])) {
    rows <- items$automatic_label == rule & shares > 0; seen <- rows & checked; loose <- 1
    if (any(seen) && max(y[seen]) > min(y[seen])) next
    if (any(seen)) {  # they agree, which does not prove that all do: half an additional item that differs
      w <- (shares * counts)[seen]
      loose <- sum((w / sum(w))^2 * pmax(1 - 1 / counts[seen], 0))
    }
    guess <- if (loose > 0) 0.5 / (1 / loose + 1) else 0
    later <- later + sum(shares[rows])^2 * guess * (1 - guess) * loose
  }
  list(y = said + counts * (y - said), linear = shares * said + own + counts * residual, later = later)
}

rows <- list()
for (estimand in c("unique_posts", "posts")) {
  of <- if (estimand == "posts") "_of_posts" else ""
  size <- if (estimand == "posts") items$group_size else rep(1, nrow(items))
  weight <- items[[paste0("weight", of)]] / size
  cell_variance <- items[[paste0("cell_variance", of)]]
  again_size <- size * weight / items$weight
  everyone <- rep(TRUE, nrow(items))
  parts <- list(list("pool", "", everyone), list("average claim", "", everyone))
  for (name in sort(unique(claims))) parts <- c(parts, list(list("claim", name, claims == name)))
  for (name in sort(unique(items$kind))) parts <- c(parts, list(list("kind", name, items$kind == name)))
  for (label in labels) {
    for (part in parts) {
      scale <- size * part[[3]]
      of_claim <- part[[1]] == "average claim"
      scale <- scale / (if (of_claim) ave(weight * scale, claims, FUN = sum) * length(unique(claims)) else sum(weight * scale))
      given <- audited(label, part[[3]], part[[1]], weight, scale, size); y <- given$y
      centre <- if (of_claim) ave(weight * scale * y, claims, FUN = sum) / ave(weight * scale, claims, FUN = sum) else sum(weight * scale * y)
      over_claims <- NA
      if (part[[1]] == "pool" && ncol(repeated) > 2) {
        again <- svrepdesign(data = data.frame(top = y * again_size, size = again_size), weights = items$weight, repweights = repeated,
                             type = "JK1", combined.weights = TRUE, mse = FALSE)
        over_claims <- as.numeric(SE(svyratio(~top, ~size, again)))
      }
      rows[[length(rows) + 1]] <- data.frame(
        estimand = estimand, scope = part[[1]], name = part[[2]], label = label, share = min(max(sum(weight * scale * y), 0), 1),
        standard_error = sqrt(variance(given$linear / weight - centre * scale, size, weight * p, cell_variance) + given$later),
        over_claims = over_claims)
    }
  }
}
estimates <- do.call(rbind, rows)
to <- commandArgs(trailingOnly = TRUE)
if (length(to)) {
  for (column in c("share", "standard_error", "over_claims")) estimates[[column]] <- sprintf("%.17g", estimates[[column]])
  write.csv(estimates, to[1], row.names = FALSE)
} else print(estimates[estimates$scope %in% c("pool", "average claim", "kind"), ], digits = 4, row.names = FALSE)
