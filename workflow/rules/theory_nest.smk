# Theory of paper 004 (projective loop nests) and of the Gemmini experiment of paper 001.


rule theory_nest:
    output:
        examples="results/theory/nest/examples.csv",
        thin="results/theory/nest/thin_matrix_multiplication.csv",
        agreement="results/theory/nest/agreement.csv",
        figure="results/theory/nest/thin_matrix_multiplication.svg",
    log:
        "results/logs/theory_nest.log",
    conda:
        "../envs/jouleloop.yaml"
    script:
        "../scripts/theory_nest_tables.py"


rule theory_gemmini:
    output:
        table="results/theory/gemmini/tiles.csv",
        largest="results/theory/gemmini/largest_tiles.csv",
        figure="results/theory/gemmini/tiles.svg",
    log:
        "results/logs/theory_gemmini.log",
    conda:
        "../envs/jouleloop.yaml"
    script:
        "../scripts/theory_gemmini_tiles.py"
