package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/irish"
)

var irishLanguage = &Language{
	Code: "ga", Name: "Irish", Script: unicode.Latin,
	Aliases: "gle gaeilge",
	Stem:    irish.Stem,
	StopWords: `a ach ag agus aige aici air an ann ár arna as atá b ba bhí cá cad cathain cé céard chuig chun conas d
		dá dar de den do don é ea eile faoi féin fhéidir gach gan go i iad idir in is í le lena leis mar mé mo muid na
		nach ná ní nó nuair ó ón orthu os pé sa san sé seo sí sibh sin sinn siad tá tar thar tú uile um`,
}
