# The papers' own figures and tables: `snakemake theory` makes them, the default target does not.


include: "theory_fc.smk"
include: "theory_conv.smk"
include: "theory_nest.smk"
include: "theory_manticore.smk"


localrules:
    theory,


rule theory:
    input:
        rules.theory_fc.input,
        rules.theory_conv.input,
        rules.theory_manticore.input,
        rules.theory_nest.output,
        rules.theory_gemmini.output,
