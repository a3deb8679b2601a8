# The papers' own figures and tables need no energies: `snakemake theory` makes them, the default target does not.
# Every paper has a file of rules, whose last rule collects what it makes.
THEORY = [
    name
    for name in ("theory_fc", "theory_conv", "theory_nest", "theory_manticore")
    if Path(workflow.basedir, "workflow", "rules", f"{name}.smk").is_file()
]

for name in THEORY:

    include: f"{name}.smk"


localrules:
    theory,


rule theory:
    input:
        [getattr(rules, name).input for name in THEORY if hasattr(rules, name)],
