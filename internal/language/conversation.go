package language

// Conversation recognizes messages that are no question to the sources, and holds the replies to them without a model.
// Phrases are in lower case, without apostrophes and punctuation, and separated by bars.
type Conversation struct {
	// A message of Greetings and Courtesies is a greeting; one of Thanks and Courtesies is thanks. Remarks are whole
	// messages that need no answer.
	Greetings, Thanks, Remarks string
	Courtesies                 string
	// Abilities are whole messages, AboutUser are ends of a message, and History are parts of one.
	Abilities, AboutUser, History string
	// Polite phrases may precede any message.
	Polite string
	// A message that begins with one of Rewrites is a request to rewrite if it names one of Replies, or if it holds one of
	// Pronouns that ends the message or precedes one of Forms or Joins. A pronoun before another word refers to that
	// word: "that paper".
	Rewrites, Pronouns, Replies, Joins string
	// Forms are the results of rewriting: "shorter", "as a table". A whole message of one is a request, too.
	Forms string

	// Hello answers a greeting, Welcome thanks and Acknowledged a remark; Able describes what the agent can do.
	Hello, Welcome, Acknowledged, Able string
	// YouCouldAsk introduces example questions.
	YouCouldAsk string
	// Remembered introduces the memories about the user.
	Remembered, NothingRemembered string
	// Asked introduces the questions of the thread.
	Asked, NothingAsked string
	// NoRewriting refuses to rewrite for lack of a model.
	NoRewriting string
	// WhatIs and SaysAbout are example questions about a subject, which replaces %s.
	WhatIs, SaysAbout string
}
