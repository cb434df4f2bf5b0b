"""Who sends what to whom, when: a file per kind of traffic, and the list of them (`known`)."""
