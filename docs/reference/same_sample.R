# Draw a study's sample again from its items: Rscript same_sample.R items.csv SEED [PER_KIND PER_CLAIM] > sample.csv
# items.csv needs item_id, claim_id, kind (as data/build/items has them). Design poisson, without certain clusters and strata.
# SHA-256 comes from the package openssl, or else from the program sha256sum.
arguments <- commandArgs(TRUE)
seed <- arguments[2]
limit <- if (length(arguments) > 3) as.numeric(arguments[3:4]) else c(6, 24)

framed <- function(part) { # a part's bytes, after their number as 8 bytes, the lowest first
  bytes <- charToRaw(enc2utf8(part))
  c(writeBin(length(bytes), raw(), endian = "little"), raw(4), bytes)
}
sha256 <- function(bytes) {
  if (requireNamespace("openssl", quietly = TRUE)) return(as.character(openssl::sha256(bytes)))
  file <- tempfile(); on.exit(unlink(file)); writeBin(bytes, file)
  substr(system2("sha256sum", file, stdout = TRUE), 1, 64)
}
number <- function(...) { # the digest's first 53 bits as a number from 0 up to 1
  digest <- sha256(do.call(c, lapply(c(...), framed)))
  part <- function(from, to) strtoi(substr(digest, from, to), 16L)
  part(1, 7) / 2^28 + part(8, 13) / 2^52 + bitwShiftR(part(14, 14), 3) / 2^53
}

items <- read.csv(arguments[1], colClasses = "character", encoding = "UTF-8", check.names = FALSE)
items$p_sample <- NA
for (claim in unique(items$claim_id)) {
  counts <- table(items$kind[items$claim_id == claim])
  quota <- pmin(counts, limit[1])
  left <- sum(counts) - sum(quota)
  missing <- min(max(limit[2] - sum(quota), 0), left)
  p <- quota / counts + (1 - quota / counts) * if (left > 0) missing / left else 0
  here <- items$claim_id == claim
  items$p_sample[here] <- p[items$kind[here]]
}
drawn <- vapply(items$item_id, function(item) number(seed, "sampling", item), 0) < items$p_sample
write.csv(items[drawn, c("item_id", "p_sample")], row.names = FALSE, fileEncoding = "UTF-8")
