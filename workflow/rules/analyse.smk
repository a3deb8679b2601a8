# All that follows from the table of energies by one job: what it imports and reads serves tables, figures and the page.
rule results:
    input:
        PLAN.sources.values(),
        PLAN.variant_sources.values(),
        [f"results/{layout.file}.parquet" for layout in PLAN.further],
        "results/summary.json",
        energies="results/energies.parquet",
    output:
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
    message:
        "Testing growth, deriving laws, drawing figures"
    script:
        "../../analysis/results.py"


# Part of the run where `outputs: {search_noise: true}` asks for it, since it searches every layer a second time.
rule search_noise:
    input:
        "results/energies.parquet",
        PLAN.sources.values(),
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
