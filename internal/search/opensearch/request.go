package opensearch

import (
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/query"
)

// maxTerms is how many terms of a query are searched. Clusters refuse queries with more than 1,024 clauses.
const maxTerms = 1000

// maxYear is the last year that documents are counted by.
const maxYear = 9999

// filters returns the conditions on documents: sources, and required and excluded clauses.
func filters(q *search.Query, parsed *query.Parsed) object {
	filter := []object{{"terms": object{"src": q.Sources}}}
	for _, c := range parsed.Require {
		filter = append(filter, clause(c))
	}
	out := object{"filter": filter}
	if len(parsed.Exclude) > 0 {
		exclude := make([]object, len(parsed.Exclude))
		for i, c := range parsed.Exclude {
			exclude[i] = clause(c)
		}
		out["must_not"] = exclude
	}
	return out
}

// yearRange is the condition that the year of a document is within the bounds.
func yearRange(q *search.Query) object {
	bounds := object{"gte": max(q.FromYear, 1)}
	if q.ToYear != 0 {
		bounds["lte"] = q.ToYear
	}
	return object{"range": object{"year": bounds}}
}

// clause is the condition that a document holds a clause in one of its passages.
func clause(c query.Clause) object {
	phrase := func(field string) object {
		return object{"match_phrase": object{field: object{"query": tokens(c.Terms)}}}
	}
	inText := object{"nested": object{"path": "p", "query": phrase("p.text"), "score_mode": "none"}}
	switch {
	case c.Field == query.Title:
		return phrase("title")
	case c.Field == query.Text:
		return inText
	case c.Field == query.Author:
		// All words of one name, in any order.
		words := slices.DeleteFunc(slices.Clone(c.Terms), func(term string) bool { return term == "" })
		return object{"match_phrase": object{"author": object{"query": tokens(words), "slop": authorReach}}}
	case len(c.Terms) == 1:
		return object{"term": object{"held": token(c.Terms[0])}}
	}
	return anyOf(phrase("title"), phrase("author"), inText)
}

func anyOf(conditions ...object) object {
	return object{"bool": object{"should": conditions, "minimum_should_match": 1}}
}

// term is a term of the query with its weight in the searched sources.
type term struct {
	token   string
	count   int
	holders int
	idf     float64 // 0 if no passage holds it
	gain    float64
	mass    uint32
}

// byWords returns the request for the best documents by words, with the counts of all matches if they are needed.
func (r *request) byWords() object {
	match := filters(&r.Query, &r.parsed)
	match["must"] = r.bestPassage()
	out := r.listing(match)
	if r.Bounded() {
		out["post_filter"] = yearRange(&r.Query) // counts include undated documents
	}
	if strong := r.strong(); strong != nil && (r.Facets || r.Bounded()) {
		match["should"] = object{"constant_score": object{"filter": strong, "boost": 0}} // names the strong hits
		out["aggs"] = object{"strong": object{"filter": strong, "aggs": r.counts()}}
	}
	return out
}

// byKey returns the request for the documents with the key of a title or DOI, of any year.
func (r *request) byKey(field, key string) object {
	match := filters(&r.Query, &query.Parsed{})
	match["filter"] = append(match["filter"].([]object), object{"term": object{field: key}})
	match["should"] = r.bestPassage()
	return r.listing(match)
}

// candidates is how many of the best documents by words are compared with the query's embedding. It is more than
// scoring.RerankDepth, because the documents nearest to the embedding are not found without words here: with 50
// instead of 200 the nDCG@10 of CISI is .4170.
const candidates = 200

// listing returns a request for documents with the fields that candidates are made of.
func (r *request) listing(match object) object {
	return object{
		"size": max(candidates, r.Limit), "track_total_hits": false, "_source": false,
		"stored_fields": []string{"title", "author", "vec"}, "docvalue_fields": []string{"src", "seq", "year"},
		"query": object{"bool": match},
	}
}

// bestPassage scores a document by its best passage.
func (r *request) bestPassage() object {
	var words []object
	for _, t := range r.terms {
		if t.holders > 0 && len(words) < maxTerms {
			words = append(words, object{"term": object{"p.all": object{"value": t.token, "boost": t.count}}})
		}
	}
	if len(words) == 0 {
		return object{"match_none": object{}}
	}
	return object{"nested": object{
		"path": "p", "score_mode": "max", "query": anyOf(words...),
		"inner_hits": object{
			"size": 1, "_source": false, "stored_fields": []string{"p.text"},
			"docvalue_fields": []string{"p.n", "p.len"},
		},
	}}
}

// strongName marks the hits that hold at least half of the query's weight.
const strongName = "strong"

// strong is the condition that a document holds at least half of the query's weight, nil if no document can.
func (r *request) strong() object {
	var words []object
	sum := 0.0
	for _, t := range r.terms {
		if t.holders > 0 && len(words) < maxTerms {
			words = append(words, object{"constant_score": object{
				"filter": object{"term": object{"held": t.token}}, "boost": t.mass,
			}})
			sum += float64(t.mass)
		}
	}
	if len(words) == 0 {
		return nil
	}
	return object{"function_score": object{"query": anyOf(words...), "min_score": sum / 2, "_name": strongName}}
}

// counts splits the matches by year and source.
func (r *request) counts() object {
	within := object{"match_all": object{}}
	if r.Bounded() {
		within = yearRange(&r.Query)
	}
	return object{
		"within": object{"filter": within, "aggs": object{
			"years":   object{"terms": object{"field": "year", "size": maxYear, "order": object{"_key": "asc"}}},
			"sources": object{"terms": object{"field": "src", "size": len(r.Sources), "order": object{"_key": "asc"}}},
		}},
		"undated": object{"missing": object{"field": "year"}},
	}
}
