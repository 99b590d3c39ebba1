"""Platforms as sources of posts: each module converts one client library's responses to pages and faults.

Only these modules, `annotation.label_studio`, the fact-check reader and the datasets' downloads use the network.
"""
