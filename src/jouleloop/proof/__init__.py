"""A separate, slow verifier of certificates: exact integers, no kernel of the search, one small idea a module."""
