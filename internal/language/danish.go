package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/danish"
)

var danishLanguage = &Language{
	Code: "da", Name: "Danish", Script: unicode.Latin,
	Aliases: "dan dansk",
	Stem:    danish.Stem,
	StopWords: `af alle at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter eller
		en er et for fordi fra før ham han hans har havde have hende hendes her hos hun hvad hvem hvilke hvilken
		hvilket hvis hvor hvordan hvorfor hvornår i ikke ind jeg kan kunne man med meget men mellem mere mig min mod
		ned noget nogle nu når og også om op os over på samt sig sin skal skulle som så til ud under var ved vi vil
		ville vores være været`,
	Letters: "æøå",
	Abbreviations: &Abbreviations{
		Never:    scholarlyNever + ` f.eks bl.a dvs d.v.s s.k pga ca inkl hr fr prof dr`,
		Numbered: scholarlyNumbered + ` nr s kap`,
		Either:   scholarlyEither + ` osv m.m m.fl o.l`,
		Openers: `den det de en et denne dette disse han hun vi jeg sin sit i på af for med til fra om under over efter
			før ved men og eller når som at så der her ikke også dog hvad hvem hvordan hvorfor`,
		Ordinals: true,
	},
}
