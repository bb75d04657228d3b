package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/portuguese"
)

var portugueseLanguage = &Language{
	Code: "pt", Name: "Portuguese", Script: unicode.Latin,
	Aliases: "por português portugues brazil brazilian portuges",
	Stem:    portuguese.Stem,
	StopWords: `a à ao aos apenas as às até com como contra cuja cujo da das de dela dele deles depois desde do dos
		duas e é ela elas ele eles em entre era eram essa essas esse esses esta está estão estas este estes eu foi
		foram fosse há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num
		numa o onde os ou para pela pelas pelo pelos por porque porquê pode podem qual quais quando quanto que quê quem
		são se seja sem ser será seu seus sobre sua suas também te tem têm ter um uma você vocês`,
	Letters: "ãõç",
	Abbreviations: &Abbreviations{
		Never:    scholarlyNever + ` sr sra srs dr dra d prof eng exmo p.ex ex st sto sta`,
		Numbered: scholarlyNumbered + ` núm pág págs art cap vol t`,
		Either:   scholarlyEither + ` ltda s.a a.c d.c aprox`,
		Openers: `o a os as um uma uns umas este esta estes estas esse essa isso ele ela eles elas se seu sua seus suas
			em no na nos nas de do da dos das por para com sem sobre entre desde até segundo e ou mas quando como
			embora enquanto depois antes durante também além não há assim que quem onde`,
	},
	Vocabulary: &Vocabulary{
		HowMany: `quantos|quantas|quanto|quanta|que percentagem|que porcentagem`,
		When:    `quando|que ano|em que ano|que seculo`,
		Who:     `quem`,
		Where:   `onde|aonde`,
		Why:     `por que|porque`,
		Numbers: `dois duas três quatro cinco seis sete oito nove dez onze doze cem mil milhão metade terço`,
		Dates: `janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro século
			década`,
		Causes:   `porque causa razão devido motivo`,
		Subjects: `ele ela eles elas este esta estes estas isto esse essa isso seu sua seus suas`,
		Pronouns: `ele ela eles elas seu sua seus suas este esta isto esse essa isso dele dela`,
	},
}
