package language

// Phrases are the texts of a reply that do not come from a source or a model. Each %s is replaced.
type Phrases struct {
	// Answered, Closest and Unanswered introduce the quotes, and Listed introduces a list of documents. Lacking names
	// words of the question that the quotes do not hold.
	Answered, Listed, Closest, Lacking string
	Unanswered                         string
	// Failed, PartialCap and PartialTime explain why the answer consists of quotes and not of the model's text.
	Failed, PartialCap, PartialTime string
	// NoSources, NoDocuments, Nothing, NoSource and TooLittle explain why there is no answer.
	NoSources, NoDocuments       string
	Nothing, NoSource, TooLittle string
	// Searched lists the searched sources, and Incomplete introduces what could not be searched.
	Searched, Incomplete                 string
	And, Or                              string
	Source, Sources, Document, Documents string
	Page, Untitled                       string
	// Partial gives one of the following reasons why an answer is incomplete.
	Partial, RanOut, BrokeOff, TooLong string
	CapReached, FailedEarly, UsedUp    string
	WasCancelled                       string
	// NotFound, Disagreement and Unfinished are headings of a report. NoAnswers introduces the questions that no source
	// answers, and QuotesOnly the quotes of a section that the model did not write.
	NotFound, Disagreement, Unfinished string
	NoAnswers, QuotesOnly              string
	// ByDocument introduces quotes that are grouped by document.
	ByDocument string
}
