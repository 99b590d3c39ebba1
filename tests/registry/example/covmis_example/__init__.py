"""A package of others: a form of posts, a tool that writes tables, and a measure."""
