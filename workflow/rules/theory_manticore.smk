# Theory of paper 003 (Manticore): printed numbers recomputed, executions against closed forms, pictures.


rule theory_manticore_printed:
    output:
        table="results/theory/manticore/printed_numbers.csv",
    log:
        "results/logs/theory_manticore_printed.log",
    conda:
        "../envs/jouleloop.yaml"
    script:
        "../scripts/theory_manticore_printed.py"


rule theory_manticore_executed:
    output:
        table="results/theory/manticore/executed.csv",
    log:
        "results/logs/theory_manticore_executed.log",
    conda:
        "../envs/jouleloop.yaml"
    script:
        "../scripts/theory_manticore_executed.py"


rule theory_manticore_figures:
    output:
        ccr="results/theory/manticore/ccr.svg",
        conv="results/theory/manticore/algorithm_3.svg",
        fc="results/theory/manticore/algorithm_5.svg",
    log:
        "results/logs/theory_manticore_figures.log",
    conda:
        "../envs/jouleloop.yaml"
    script:
        "../scripts/theory_manticore_figures.py"


rule theory_manticore:
    input:
        rules.theory_manticore_printed.output,
        rules.theory_manticore_executed.output,
        rules.theory_manticore_figures.output,
