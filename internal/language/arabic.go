package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/arabic"
)

var arabicLanguage = &Language{
	Code: "ar", Name: "Arabic", Script: unicode.Arabic,
	Aliases: "ara arab العربية",
	Stem:    arabic.Stem,
	Respell: respellArabic,
	StopWords: `في من على إلى الى عن مع هذا هذه ذلك تلك هو هي هم هما هن أنا نحن أنت كان كانت كانوا يكون تكون التي الذي
		الذين اللذين ما ماذا كيف متى أين لماذا هل كم أي أية و أو ثم أن إن أنه أنها إنه إنها لا لم لن ليس ليست قد لقد كل
		بين حتى إذا عند عندما منذ بعد قبل غير كما لكن بل فيه فيها منه منها به بها له لها عليه عليها إليه إليها وهو وهي
		وفي ومن وعلى`,
}
