package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/english"
)

var englishLanguage = &Language{
	Code: "en", Name: "English", Script: unicode.Latin,
	Aliases:             "eng american british usenglish ukenglish canadian australian newzealand",
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
		How:   `how does|how do|how did|how is|how was|how are|how were|how can|how could|how would|how to`,
		What: `what is|what are|what was|what were|whats|tell me about|tell me more about|explain|describe|define|who is|
			who was|who are|who were|whos`,
		Why: `why|what caused|what is the reason|what was the reason`,
		Numbers: `one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred
			thousand million billion trillion half third quarter dozen double twice percent`,
		Dates: `january february march april june july august september october november december century decade spring
			summer autumn winter monday tuesday wednesday thursday friday saturday sunday era period
			today ago year years bc ad`,
		Units: `how long=second minute hour day week month year decade century millisecond metre kilometre mile foot feet
			inch page km|how old=year month week day century|how fast=second minute hour day kilometre mile km mph|how
			tall=metre meter foot feet inch storey kilometre|how high=metre meter foot feet percent dollar kilometre`,
		PlaceAfter: `in at from near to of on into across around outside inside`,
		Cues:       `reason because therefore thus hence so consequently`,
		Causes:     `because cause due reason since result therefore order led`,
		Subjects:   `he she it they this these those that such his her its their him them`,
		Pronouns:   `he him his she her hers it its they them their theirs this these those`,
		Fillers: `else please tell more again explain describe supposed actually exactly really basically anyway up out
			off whats whos hows give gives show you your my anything something anyone`,
		Weak: `important importance significant significance matter famous known work works working mean meaning use
			used invent invented inventor write wrote written author authors create created creator discover discovered
			develop developed introduce introduced propose proposed publish published describe described idea purpose
			happen happened come came coming behind point deal deals dealt make made stand stands give gave given call
			called talk talks mention mentions problem problems solve solves paper way ways thing
			things first second go goes went gone take takes took taken get gets got put set place`,
		Else:   `else other others another further additional`,
		Except: `besides except apart other than`,
		Synonyms: `publish appear release|store keep kept save|begin start launch|fast speed quick rapid|big large huge|
			small little tiny|cheap inexpensive|beat defeat|show demonstrate prove|fix repair correct|win award|
			buy purchase acquire|exchange agreement|hardware processor graphics|cryptography cryptosystem encryption cipher
			encipher|criticise criticism dispute|car automobile|movie film|doctor physician|illness disease|
			fail failure weakness cannot|error mistake fault|cost price expensive dollars|child kid|help assist aid|
			find discover detect|change alter modify|need require|choose select pick|difficult hard difficulty|
			easy simple|copy replica duplicate|country nation|war conflict battle|leader head director|fund pay|
			job task|stop end finish|build construct|live reside|born birth|die death|teach educate train|
			split divide|join link connect|guess predict estimate|wrong false|right correct|picture image photograph|
			lab laboratory|limit limitation|break crack`,
		Works: `papers works documents articles publications books texts essays reports sources entries studies`,
		Listing: `about on by from before after since until between in of written published are is were was do deal
			deals discuss mention cover describe treat talk explain have come came concern concerning
			regarding study use cite there`,
		ListAll: `list|show me all|give me a list of|name all|enumerate|everything you have on|everything you have
			about|everything about|everything on|what do you have on|what do you have about|what have you got on|show
			me papers|do you have anything on|do you have anything about|is there anything on|is there anything about|is
			there something on|is there something about|anything on|anything about|have you got anything on|
			find papers|find all papers|find me papers`,
		Library: `in the library|in your library|in my library|in your sources|in my sources|in the sources|in the
			collection|in your collection|do you have|have you got`,
		Compare: `compare 1 and 2|compare 1 with 2|compare 1 to 2|contrast 1 and 2|contrast 1 with 2|difference between
			1 and 2|differences between 1 and 2|1 versus 2|1 vs 2|how does 1 differ from 2|how do 1 and 2 differ|how does
			1 compare to 2|how does 1 compare with 2|how do 1 and 2 compare`,
	},
	Phrases: &Phrases{
		Answered:     "Quotes from your sources:",
		Listed:       "Documents that match:",
		Closest:      "Closest passages; they may not answer this:",
		Lacking:      "Not in the best passage: %s.",
		Unanswered:   "The model found no answer in the passages it read.",
		Failed:       "The model did not answer; these are quotes from your sources. (%s)",
		PartialCap:   "This answer is partial, because the spending cap was reached. These are quotes from your sources:",
		PartialTime:  "This answer is partial, because time ran out. These are quotes from your sources:",
		NoSources:    "This agent has no sources yet, so there is nothing to answer from.",
		NoDocuments:  "There are no documents in %s yet, so there is nothing to answer from.",
		Nothing:      "Nothing in %s matched.",
		NoSource:     "No source contains %s.",
		TooLittle:    "No passage covers enough of the question; the best one lacks %s.",
		Searched:     "Searched: %s.",
		Incomplete:   "Not everything could be searched:",
		And:          "and",
		Or:           "or",
		Source:       "source",
		Sources:      "sources",
		Document:     "document",
		Documents:    "documents",
		Page:         "p.",
		Untitled:     "Untitled",
		Partial:      "This answer is partial: %s.",
		RanOut:       "time ran out",
		BrokeOff:     "the model's answer broke off",
		TooLong:      "it reached the maximum length",
		CapReached:   "the spending cap was reached",
		FailedEarly:  "the model failed before everything was read",
		UsedUp:       "it reached the token limit",
		WasCancelled: "it was cancelled",
		NotFound:     "What was not found",
		Disagreement: "What sources disagree about",
		Unfinished:   "What was not finished",
		NoAnswers:    "No source answers these questions:",
		QuotesOnly:   "This section was not written. Quotes from your sources:",
		ByDocument:   "Quotes from your sources, by document:",
	},
	Conversation: &Conversation{
		Greetings: `hi|hello|hey|hiya|howdy|greetings|good morning|good afternoon|good evening|good day|morning`,
		Thanks: `thanks|thank you|thank u|thx|many thanks|cheers|much appreciated|ta|thanks a lot|thank you very
			much`,
		Remarks: `ok|okay|great|nice|cool|perfect|good|wonderful|excellent|got it|i see|understood|well done|never mind|
			forget it|bye|goodbye|good bye|good night|see you|see you later|how are you|how are you doing|how are you
			doing today|how are you today|how is it going|nice to meet you|oh i see|interesting|very good|sounds good`,
		Courtesies: `there|again|you|are|everyone|all|carrel|agent|librarian|friend|how|doing|today|how are you|hi|hello|
			hey|nice|to|meet|so|very|much|a|lot|for|your|the|help|that|this|it|was|is|helps|helped|helpful|great|good|
			perfect|awesome|excellent|cool|wonderful|ok|okay|bye|goodbye|really|answer|answers|i|see|got|understand|now|
			appreciated|well|and|yes|super|useful|very useful|interesting`,
		Abilities: `what can you do|what can you do for me|what can i ask|what can i ask you|who are you|what are you|
			help|help me|can you help me|how can you help me|what do you do|how do you work|how does this work|what is
			this|what are you for|what do you know|what do you know about|what questions can i ask|what should i ask|
			whats your name|what is your name|are you a robot|are you an ai|are you a human|are you human|are you a bot|
			what kind of questions can i ask|how do i use this|what can i do here|what is in here|tell me about
			yourself|introduce yourself|what are you able to do|what do you know how to do|what can you help me with|
			how can you help|what can you answer|what sources do you have|what are your sources|commands|options`,
		AboutUser: `know about me|remember about me|what is my name|whats my name|my name is what|know my name|
			remember my name|who am i|what do you remember|what have you remembered|memories about me|memories do you have|
			what do i like|what are my preferences`,
		History: `did i ask|have i asked|was my first question|was my last question|was my previous question|my earlier
			questions|my previous questions|my questions so far|what did i say|what have i said|i asked before|
			what did we talk about|what have we talked about|what was my question|my
			second question|my third question|list my questions|repeat my questions|repeat my first question|repeat my
			last question|what was your last answer|what was your first answer|what was the last answer|what was your
			previous answer|what is this conversation about|what is this chat about|what is this thread about|what was
			this conversation about`,
		Polite: `please|can you|could you|would you|will you|now|and|ok|okay|so|hi|hello|hey|well|then|also|just`,
		Rewrites: `rewrite|rephrase|reword|paraphrase|shorten|condense|summarise|summarize|sum up|simplify|translate|
			reformulate|restate|rework|polish|make|put|turn|convert|format|say|write|draft|explain|express|expand|
			repeat|give me|give|show me|present|compare|contrast|tabulate|create|cut|trim|merge|combine|list`,
		Pronouns: `it|that|this|them|these|those|both|both of them|the two|the three|all of it|all of that|all of them|
			all this|the whole thing`,
		Joins: `in|into|as|to|for|from|more|less|again|up|down|shortly|briefly|simply|with|without|a|an|by|like|out|
			better|clearer|together|once|but|please|now|and`,
		Replies: `your answer|the answer|your last answer|the last answer|your previous answer|the previous answer|your
			reply|your last reply|the above|last answer|the two answers|your answers|what you said|your response|
			what you just said|that answer|this answer|your first answer|your two answers|
			your text|your summary|your table|the reply|your replies|the response|the last paragraph|the first paragraph|
			the second paragraph|the last two answers|both answers`,
		Forms: `shorter|longer|simpler|briefer|more briefly|in one sentence|in two sentences|in a few words|in simple
			words|in simple terms|in simpler words|in simpler terms|in plain english|in english|in german|in french|in
			spanish|into english|into german|into french|into spanish|to english|to german|to french|to spanish|as a
			table|into a table|a table|as a list|as bullet points|in bullet points|as an email|into an email|an email|a list|
			bullet points|into bullet points|
			more simply|clearer|in other words|in plain language|in italian|into italian|in dutch|in polish|in portuguese|more
			formal|less formal|tldr|in your own words|differently|again in other words|for a child|like im five`,
		Hello:        "Hello. I answer questions with quotes from your sources.",
		Welcome:      "You're welcome.",
		Acknowledged: "All right. Ask me whenever you like.",
		Able: "I search your sources and quote the sentences that answer your question, each with its document. I can " +
			"list documents (“Which papers are about …?”) and put two subjects next to each other (“Compare … and …”). " +
			"Tell me to remember or forget something, or to save a document to your favourites. " +
			"No language model is configured, so I cannot write or rewrite texts.",
		YouCouldAsk:       "You could ask:",
		Remembered:        "I remember this about you:",
		NothingRemembered: "I remember nothing about you.",
		Asked:             "You asked:",
		NothingAsked:      "You have not asked anything else in this chat.",
		NoRewriting: "Rewriting needs a language model, and none is configured. I can only quote your sources word for " +
			"word.",
		WhatIs:    "What is %s?",
		SaysAbout: "Tell me about %s.",
	},
	FollowUp: "What else can you tell me about %s?",
}
