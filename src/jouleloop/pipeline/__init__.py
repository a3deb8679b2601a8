"""From layers and targets to tables of energies: chunks of points, a store of results, assembly."""
