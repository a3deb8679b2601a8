# The papers' own tables and figures: `snakemake theory` makes them, the default target does not.


from jouleloop.theory.exhibits import exhibits

EXHIBITS = exhibits()


localrules:
    theory,


rule theory_exhibit:
    input:
        lambda wildcards: [
            f"results/theory/{file}" for file in EXHIBITS[wildcards.exhibit].needs
        ],
    output:
        "results/theory/{exhibit}",
    log:
        "results/logs/theory/{exhibit}.log",
    wildcard_constraints:
        exhibit="|".join(EXHIBITS),
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Making {wildcards.exhibit}"
    script:
        "../scripts/theory_exhibit.py"


rule theory:
    input:
        expand("results/theory/{exhibit}", exhibit=EXHIBITS),


for _folder in dict.fromkeys(file.partition("/")[0] for file in EXHIBITS):

    rule:
        name:
            f"theory_{_folder}"
        input:
            [
                f"results/theory/{file}"
                for file in EXHIBITS
                if file.startswith(f"{_folder}/")
            ],
        localrule: True
