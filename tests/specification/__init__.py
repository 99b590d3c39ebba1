"""The method from posts to numbers in plain Python, written from docs/ alone, and compared with covmis on random studies.

Read the rules in this order; each is one function, and its docstring names the page of docs that states it:

    chance      random numbers that anybody can compute again
    archive     posts of files, and which copy of a post counts
    matching    queries, and the posts that they find
    cleaning    five steps from matches to items
    sampling    probabilities, draws, certain clusters, automatic labels
    annotation  claims of a round, gold labels, the corpus
    agreement   coefficients
    estimates   shares of labels and their intervals
    measures    figures of systems

No rule is taken from covmis. `studies` makes odd small studies, `compare` runs covmis on them and compares row by row.
"""
