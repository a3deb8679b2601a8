# What tables, figures and the page are made of, but for the results themselves.
SOURCES = [
    PLAN.sources.values(),
    PLAN.variant_sources.values(),
    PLAN.target_files(),
]


#: What says what was found: the table of energies, the layers, and what the run did.
COLLECTED = [
    table("energies"),
    multiext("results/", "timings.csv", "summary.json", "energy_sources.csv"),
    expand("results/layers/{sweep}.csv", sweep=PLAN.sources),
]


# All that follows from the results by one job: what it imports and reads serves tables, figures and the page.
rule results:
    input:
        *SOURCES,
        [f"results/{layout.file}.parquet" for layout in PLAN.further],
        chunks=PLAN.chunk_files + PLAN.variant_files,
    output:
        COLLECTED,
        tables(PLAN.derived),
        [
            table(f"architecture/{name}", name, "architecture")
            for name in PLAN.variant_sources
        ],
        PLAN.derived_files,
        figures(PLAN.drawn(always=True)),
    log:
        "results/logs/results.log",
    conda:
        "../envs/jouleloop.yaml"
    threads: PLAN.figure_threads(workflow.resource_settings.cores)
    params:
        tables=[layout.file for layout in PLAN.derived],
        captions=PLAN.captions(PLAN.drawn(always=True)),
        page=PLAN.shown,
        statistics=PLAN.statistics,
        sources=PLAN.source_digests,
    message:
        "Writing tables, testing growth, deriving laws, drawing figures"
    script:
        "../../analysis/results.py"


# The table of energies alone, for a study that is too large for what follows; it is made when it is asked for by name.
rule energies_only:
    input:
        *SOURCES,
        chunks=PLAN.chunk_files + PLAN.variant_files,
    output:
        COLLECTED,
    log:
        "results/logs/energies_only.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        tables=[],
        captions=[],
        page=[],
        sources=PLAN.source_digests,
    message:
        "Writing the table of energies"
    script:
        "../../analysis/results.py"


ruleorder: results > energies_only


# Part of the run where `outputs: {search_noise: true}` asks for it, since it searches every layer a second time.
rule search_noise:
    input:
        *SOURCES,
        PLAN.chunk_files,
    output:
        table("search_noise"),
        multiext("results/search_noise_energies", ".parquet", ".csv"),
    log:
        "results/logs/search_noise.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        store="results/store",
        statistics=PLAN.statistics,
    message:
        "Comparing verdicts on proven optima with those of a search within 0.1 %"
    script:
        "../../analysis/search_noise.py"


rule published:
    input:
        PLAN.published_files,
    output:
        table("published"),
        table("published_summary", "published, counted", "published"),
    log:
        "results/logs/published.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Joining the comparisons with published energies"
    script:
        "../../analysis/published.py"
