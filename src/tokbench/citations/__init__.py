"""What an experiment's methods and data are from, as BibTeX."""
