# Measured convolutions beside the theory of their energy (the model that paper 002 builds on).


rule theory_conv_energy:
    input:
        "results/energies.parquet",
        [SOURCES[sweep] for sweep in CONV_SWEEPS],
    output:
        table("theory_conv_energy", title="convolutions and theory"),
        figures=report(
            expand(
                "results/figures/{sweep}/theory.{format}",
                sweep=CONV_SWEEPS,
                format=FORMATS,
            ),
            caption="../report/theory_conv_energy.rst",
            category="Figures",
            subcategory="convolutions and theory",
        ),
    log:
        "results/logs/theory_conv_energy.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Putting theory beside the measured convolutions"
    script:
        "../scripts/theory_conv_energy.py"
