package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"carrel/internal/search"
	"carrel/internal/search/spelling"
)

// Statistics counts the passages of the sources that hold each term.
func (e *Engine) Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error) {
	if e.isClosed() {
		return search.Statistics{}, search.ErrClosed
	}
	counted, err := e.frequencies(ctx, sources, terms)
	if err != nil {
		return search.Statistics{}, fmt.Errorf("count in the search index: %w", unavailableIfGone(err))
	}
	out := search.Statistics{Passages: counted.passages, Holders: make(map[string]int, len(terms))}
	for i, term := range terms {
		out.Holders[term] = counted.holders[i]
	}
	return out, nil
}

// frequencies are the numbers of passages of some sources, in all and by term, and the sum of their lengths.
type frequencies struct {
	passages int
	length   float64
	holders  []int
}

// frequencies counts passages. Clusters cache the reply until the index changes.
func (e *Engine) frequencies(ctx context.Context, sources, terms []string) (frequencies, error) {
	out := frequencies{holders: make([]int, len(terms))}
	if len(sources) == 0 {
		return out, nil
	}
	within := object{"length": object{"sum": object{"field": "p.len"}}}
	if len(terms) > 0 {
		conditions := make([]object, len(terms))
		for i, t := range terms {
			conditions[i] = object{"term": object{"p.all": token(t)}}
		}
		within["terms"] = object{"filters": object{"filters": conditions}}
	}
	var reply struct {
		Aggregations struct {
			Passages struct {
				Count  int `json:"doc_count"`
				Length struct {
					Value float64 `json:"value"`
				} `json:"length"`
				Terms struct {
					Buckets []bucketCount `json:"buckets"`
				} `json:"terms"`
			} `json:"passages"`
		} `json:"aggregations"`
	}
	err := e.client.do(ctx, http.MethodPost,
		"/"+e.alias()+"/_search?request_cache=true&allow_partial_search_results=false", object{
			"size": 0, "track_total_hits": false,
			"query": object{"bool": object{"filter": object{"terms": object{"src": sources}}}},
			"aggs":  object{"passages": object{"nested": object{"path": "p"}, "aggs": within}},
		}, &reply)
	if err != nil {
		return out, err
	}
	passages := reply.Aggregations.Passages
	out.passages, out.length = passages.Count, passages.Length.Value
	for i, b := range passages.Terms.Buckets {
		out.holders[i] = b.Count
	}
	return out, nil
}

// vocabulary are the words of the searched sources.
type vocabulary struct {
	engine  *Engine
	sources []string
}

// Holders returns how many passages hold each of the terms.
func (v vocabulary) Holders(ctx context.Context, terms []string) ([]int, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	counted, err := v.engine.frequencies(ctx, v.sources, terms)
	return counted.holders, err
}

// suggested is how many words the cluster suggests for a misspelt one. They come from all sources; those that the
// searched sources do not hold are removed.
const suggested = 100

// Suggest returns the word that is closest in spelling to an unknown one, preferring frequent words, or "". Only words
// with the same first letter are considered, because typos there are rare.
func (v vocabulary) Suggest(ctx context.Context, word, _ string) (string, error) {
	reach := spelling.Slips(utf8.RuneCountInString(word))
	if reach == 0 {
		return "", nil
	}
	var reply struct {
		Suggest struct {
			Words []struct {
				Options []struct {
					Text string `json:"text"`
				} `json:"options"`
			} `json:"words"`
		} `json:"suggest"`
	}
	err := v.engine.client.do(ctx, http.MethodPost, "/"+v.engine.alias()+"/_search?allow_partial_search_results=false",
		object{"size": 0, "track_total_hits": false, "suggest": object{"words": object{
			"text": token(word), "term": object{
				"field": "words", "analyzer": "terms", "suggest_mode": "always", "max_edits": reach, "prefix_length": 1,
				"min_word_length": 4, "size": suggested, "shard_size": suggested, "max_inspections": 20,
			},
		}}}, &reply)
	if err != nil || len(reply.Suggest.Words) == 0 {
		return "", err
	}
	var words []string
	for _, o := range reply.Suggest.Words[0].Options {
		words = append(words, o.Text)
	}
	holders, err := v.holders(ctx, words)
	if err != nil {
		return "", err
	}
	return nearestWord(word, reach, words, holders), nil
}

// nearestWord returns the held word with the least distance, the most holders and the first in alphabetical order.
func nearestWord(word string, reach int, words []string, holders []int) string {
	type option struct {
		word              string
		distance, holders int
	}
	m := spelling.NewMeasure(word)
	var options []option
	for i, w := range words {
		if d := m.To(w, reach); holders[i] > 0 && d > 0 && d <= reach {
			options = append(options, option{w, d, holders[i]})
		}
	}
	if len(options) == 0 {
		return ""
	}
	return slices.MinFunc(options, func(x, y option) int {
		return cmp.Or(cmp.Compare(x.distance, y.distance), cmp.Compare(y.holders, x.holders), cmp.Compare(x.word, y.word))
	}).word
}

// holders returns how many documents of the sources hold each word as it is spelt.
func (v vocabulary) holders(ctx context.Context, words []string) ([]int, error) {
	if len(words) == 0 {
		return nil, nil
	}
	conditions := make([]object, len(words))
	for i, w := range words {
		conditions[i] = object{"term": object{"words": w}}
	}
	var reply struct {
		Aggregations struct {
			Words struct {
				Buckets []bucketCount `json:"buckets"`
			} `json:"words"`
		} `json:"aggregations"`
	}
	err := v.engine.client.do(ctx, http.MethodPost, "/"+v.engine.alias()+"/_search?allow_partial_search_results=false",
		object{
			"size": 0, "track_total_hits": false,
			"query": object{"bool": object{"filter": object{"terms": object{"src": v.sources}}}},
			"aggs":  object{"words": object{"filters": object{"filters": conditions}}},
		}, &reply)
	out := make([]int, len(words))
	for i, b := range reply.Aggregations.Words.Buckets {
		out[i] = b.Count
	}
	return out, err
}
