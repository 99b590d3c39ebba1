"""The study in the browser, for this machine alone: pages over the verbs of `Study`; nothing is calculated here."""
