"""The tables of a study by name; ``columns.csv`` says what their columns hold, and docs/tables.md follows from it."""

from jouleloop.layouts import Layout, declared

_TABLES = declared()

ENERGIES = _TABLES["energies"]
SEARCH_NOISE_ENERGIES = _TABLES["search_noise_energies"]
LAYERS = _TABLES["layers/<sweep>"]
TIMINGS = _TABLES["timings"]
ENERGY_SOURCES = _TABLES["energy_sources"]
THEORY_RATIO = _TABLES["theory_ratio"]
BUFFER_GROWTH = _TABLES["buffer_growth"]
LAWS = _TABLES["laws"]
LAW_POINTS = _TABLES["law_points"]
LAW_TERMS = _TABLES["law_terms"]
SEARCH_NOISE = _TABLES["search_noise"]
NETWORKS = _TABLES["networks"]
VARIANTS = _TABLES["architecture/<sweep>"]
CAPACITY = _TABLES["capacity"]
CAPACITY_SUMMARY = _TABLES["capacity_summary"]
CHAINS = _TABLES["chains"]
CHAIN_GROWTH = _TABLES["chain_growth"]
PUBLISHED = _TABLES["published"]
PUBLISHED_PART = _TABLES["published/<architecture>"]
PUBLISHED_SUMMARY = _TABLES["published_summary"]
CROSSCHECK = _TABLES["crosscheck"]
CROSSCHECK_SUMMARY = _TABLES["crosscheck_summary"]
THEORY_CONV_ENERGY = _TABLES["theory_conv_energy"]

#: Those that a run of a study makes; the papers' own follow in ``columns.csv``.
LAYOUTS = tuple(layout for layout in _TABLES.values() if not layout.file.startswith("theory/"))

#: For tables of which only the name of their columns is known: every column that means one thing wherever it stands.
ANY = Layout(
    "<table>",
    "Any table.",
    tuple(
        {
            column.name: column
            for layout in LAYOUTS
            for column in layout.columns
            if not column.is_family and column.name not in {"variable", "optimal"}
        }.values()
    ),
    open=True,
)
