package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/english"
)

var englishLanguage = &Language{
	Code: "en", Name: "English", Script: unicode.Latin,
	Stem:                english.Stem,
	FoldsBeforeStemming: true,
	// Ranking was tuned with this list: measure with make eval before changing it.
	StopWords: `a an and are as at be but by for if in into is it no not of on or such that the their then there these
		they this to was will with what which how who does do did has have had from can we our its were been i me about
		between than also where when why would could should may any some`,
	Abbreviations: &Abbreviations{
		Never:    scholarlyNever,
		Titles:   englishTitles,
		Numbered: scholarlyNumbered + " " + englishMonths,
		Either:   scholarlyEither + ` mass calif pa va ave blvd rd min max avg temp`,
		Openers:  englishOpeners,
	},
	Vocabulary: &Vocabulary{
		HowMany: `how many|how much|how old|how long|how far|how tall|how high|how deep|how large|how big|how often|how
			fast|what percentage|what percent|what number|what share|what fraction|what proportion|what age`,
		When:  `when|what year|which year|what century|which century|what decade|what date|what day|what month`,
		Who:   `who|whom|whose`,
		Where: `where`,
		Why:   `why|what caused|what is the reason|what was the reason`,
		Numbers: `one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred
			thousand million billion trillion half third quarter dozen double twice percent`,
		Dates: `january february march april june july august september october november december century decade spring
			summer autumn winter monday tuesday wednesday thursday friday saturday sunday`,
		Causes:   `because cause due reason since result therefore order led`,
		Subjects: `he she it they this these those that such his her its their him them`,
		Pronouns: `he him his she her hers it its they them their theirs this these those`,
		Fillers:  `else please tell more again explain describe`,
		Weak: `important importance significant significance matter famous known work works working mean meaning use
			used invent invented inventor write wrote written author authors create created creator discover discovered
			develop developed introduce introduced propose proposed publish published describe described idea purpose
			happen happened`,
	},
	Phrases: &Phrases{
		Answered:    "Quotes from your sources:",
		Closest:     "Closest passages; they may not answer this:",
		Lacking:     "Not in the best passage: %s.",
		Unanswered:  "The model found no answer in the passages it read.",
		Failed:      "The model did not answer; these are quotes from your sources. (%s)",
		PartialCap:  "This answer is partial, because the spending cap was reached. These are quotes from your sources:",
		PartialTime: "This answer is partial, because time ran out. These are quotes from your sources:",
		NoSources:   "This agent has no sources yet, so there is nothing to answer from.",
		NoDocuments: "There are no documents in %s yet, so there is nothing to answer from.",
		Nothing:     "Nothing in %s matched.",
		NoSource:    "No source contains %s.",
		TooLittle:   "No passage covers enough of the question; the best one lacks %s.",
		Searched:    "Searched: %s.",
		Incomplete:  "Not everything could be searched:",
		And:         "and",
		Or:          "or",
		Source:      "source",
		Sources:     "sources",
		Document:    "document",
		Documents:   "documents",
		Page:        "p.",
		Untitled:    "Untitled",
		Partial:     "This answer is partial: %s.",
		RanOut:      "time ran out",
		BrokeOff:    "the model's answer broke off",
		TooLong:     "it reached the maximum length",
		CapReached:  "the spending cap was reached",
		FailedEarly: "the model failed before everything was read",
		UsedUp:      "it reached the token limit",
	},
	FollowUp: "What else do the sources say about %s?",
}
