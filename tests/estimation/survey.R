# Estimates of R's survey package for every sample in a folder: a line each of design, figure, value, standard error.
# NAME.sample.csv has a row an item (p, y, x, d, kind; K, the number of posts of the kind),
# NAME.joint.csv, where there is one, the joint probabilities. NAME.replicates.csv has y, part, weight, weight_1, weight_2 …
# and `type` and `scale`, the same in every row.
suppressPackageStartupMessages(library(survey))

say <- function(name, figure, value, error) {
  cat(name, figure, sprintf("%.17g", value), sprintf("%.17g", error), sep = ",")
  cat("\n")
}
told <- function(name, figure, estimate) say(name, figure, coef(estimate)[1], SE(estimate)[1])

folder <- commandArgs(TRUE)[1]
for (path in Sys.glob(file.path(folder, "*.sample.csv"))) {
  name <- sub(".sample.csv", "", basename(path), fixed = TRUE)
  rows <- read.csv(path, colClasses = c(kind = "character"))
  joint <- file.path(folder, paste0(name, ".joint.csv"))
  if (file.exists(joint)) {
    together <- ppsmat(as.matrix(read.csv(joint, header = FALSE)))
    design <- svydesign(id = ~1, fpc = ~p, data = rows, pps = together, variance = "YG")
  } else {
    design <- svydesign(id = ~1, fpc = ~p, data = rows, pps = poisson_sampling(rows$p))
  }
  told(name, "total", svytotal(~y, design))
  told(name, "mean", svymean(~y, design))
  told(name, "domain", svymean(~y, subset(design, d == 1)))
  ratio <- svyratio(~I(y * x), ~x, design)
  say(name, "copies", coef(ratio)[1], SE(ratio)[1])
  for (.kind in sort(unique(rows$kind))) { # a name that no column has: update() and subset() look there first
    told(name, paste("kind", .kind), svymean(~y, subset(design, kind == .kind)))
  }
  # survey 4.1.1 leaves post-stratification out of a PPS design's standard errors: they are those of the residuals here
  w <- weights(design)
  known <- aggregate(K ~ kind, data = rows, FUN = function(k) k[1])
  sizes <- postStratify(design, ~kind, data.frame(kind = known$kind, Freq = known$K))
  g <- weights(sizes) / w
  .e <- g * (rows$y - ave(w * rows$y, rows$kind, FUN = sum) / ave(w, rows$kind, FUN = sum))
  residual <- update(design, e = .e)
  say(name, "sizes", sum(w * g * rows$y), SE(svytotal(~e, residual))[1])
}
for (path in Sys.glob(file.path(folder, "*.replicates.csv"))) {
  name <- sub(".replicates.csv", "", basename(path), fixed = TRUE)
  rows <- read.csv(path, colClasses = c(part = "character"))
  design <- svrepdesign(
    data = rows, weights = ~weight, repweights = "^weight_[0-9]+$", type = rows$type[1], scale = rows$scale[1],
    rscales = 1, combined.weights = TRUE
  )
  told(name, "mean", svymean(~y, design))
  for (.part in sort(unique(rows$part))) {
    told(name, paste("part", .part), svymean(~y, subset(design, part == .part)))
  }
}
