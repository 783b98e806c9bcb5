"""Stages of translation models."""

from tokbench.config.targets import all_tested_translations, all_translations
from tokbench.stage import Result, Stage, stages
from tokbench.stages.measurement import metrics_of

LIBRARIES = ("torch", "transformers")

TRAIN = stages.add(Stage("train_translation", run="tokbench.models.translation.train:train", libraries=LIBRARIES))
TRANSLATE = stages.add(
    Stage("translate", run="tokbench.models.translation.translate:translate", libraries=LIBRARIES),
)
MEASURE_EMBEDDINGS = stages.add(
    Stage(
        "measure_translation_embeddings",
        run="tokbench.intrinsic.embeddings:measure_translation_model",
        results=(
            Result(
                "translation_embeddings",
                "translation_embeddings/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}",
                all_translations,
                "Folder of a translation model's",
            ),
        ),
        methods=metrics_of("embeddings"),
        cites=("koehn2004", "papineni2002", "popovic2015", "post2018"),
    )
)
SCORE_TRANSLATION = stages.add(
    Stage(
        "score_translation",
        run="tokbench.models.translation.score:score",
        results=(
            Result(
                "translation",
                "translation_scores/{path}/{test}.json",
                all_tested_translations,
                "Scores of translations",
            ),
        ),
        libraries=("sacrebleu",),
    )
)
