# Theory of paper 002 (fully-connected layers): exact optima beside bounds, bounds of the swept layers, pictures.


rule theory_fc_optima:
    output:
        table="results/theory/fc/exact_optima.csv",
        verdict="results/theory/fc/verdict.json",
        figure="results/theory/fc/exact_against_lower_bounds.svg",
    log:
        "results/logs/theory_fc_optima.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        largest=8,
    script:
        "../scripts/theory_fc_optima.py"


rule theory_fc_bounds:
    output:
        table="results/theory/fc/bounds.csv",
    log:
        "results/logs/theory_fc_bounds.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        layers=[(1024, 1024), (128, 1024), (4096, 1024), (1024, 128), (1024, 4096)],
        buffers=[17, 129, 1025],
        bits=8,
    script:
        "../scripts/theory_fc_bounds.py"


rule theory_fc_dataflows:
    output:
        algorithm_1="results/theory/fc/algorithm_1.svg",
        algorithm_2="results/theory/fc/algorithm_2.svg",
        search="results/theory/fc/cheaper_by_search.svg",
    log:
        "results/logs/theory_fc_dataflows.log",
    conda:
        "../envs/jouleloop.yaml"
    script:
        "../scripts/theory_fc_dataflows.py"


rule theory_fc:
    input:
        rules.theory_fc_optima.output,
        rules.theory_fc_bounds.output,
        rules.theory_fc_dataflows.output,
