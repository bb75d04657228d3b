package opensearch

import "carrel/internal/search/scoring"

// schema is the version of the mapping. Indices of another version are not used.
const schema = "1"

// gap is the token of a position without a term, such as a stop word of a text. The analyser removes it but keeps the
// position. It cannot be a term, because terms consist of letters and digits.
const gap = "_"

// object is a JSON object.
type object = map[string]any

// authorGap is the distance between the names of two authors, and authorReach the largest distance of two words of one
// name. No name is longer.
const (
	authorGap   = 100
	authorReach = 50
)

// indexBody returns the settings and the mapping of a new index, with its alias.
//
// A document is one OpenSearch document, and its passages are nested in it, so that one versioned write replaces both.
// Fields hold terms of package analysis, separated by spaces. The field p.all holds the words of a passage as they are
// scored: those of the title several times.
func indexBody(o Options, alias, model string) object {
	terms := func(options object) object {
		field := object{"type": "text", "analyzer": "terms", "norms": false}
		for name, value := range options {
			field[name] = value
		}
		return field
	}
	stored := object{"type": "binary", "store": true, "doc_values": false}
	return object{
		"aliases": object{alias: object{}},
		"settings": object{"index": object{
			"number_of_shards":   o.Shards,
			"number_of_replicas": o.Replicas,
			// Apply refreshes the index when all changes of a span are in it.
			"refresh_interval":                     "-1",
			"mapping.nested_objects.limit":         100_000,
			"merge.policy.expunge_deletes_allowed": 0, // for Purge
			"similarity": object{"default": object{
				"type": "BM25", "k1": scoring.K1, "b": scoring.B,
			}},
			"analysis": object{
				"filter":   object{"gaps": object{"type": "stop", "stopwords": []string{gap}}},
				"analyzer": object{"terms": object{"type": "custom", "tokenizer": "whitespace", "filter": []string{"gaps"}}},
			},
		}},
		"mappings": object{
			"dynamic": "strict",
			"_meta":   object{"schema": schema, "identity": o.Identity, "model": model},
			"_source": object{"includes": []string{"state"}},
			"properties": object{
				"state":  object{"type": "object", "enabled": false},
				"gone":   object{"type": "long"},
				"at":     object{"type": "date", "format": "epoch_millis"},
				"seq":    object{"type": "long"},
				"src":    object{"type": "keyword"},
				"year":   object{"type": "integer"},
				"tkey":   object{"type": "keyword", "doc_values": false},
				"doi":    object{"type": "keyword", "doc_values": false},
				"title":  terms(object{"store": true, "copy_to": "held"}),
				"author": terms(object{"store": true, "copy_to": "held", "position_increment_gap": authorGap}),
				// held has every term of the document once.
				"held": terms(object{"index_options": "docs"}),
				// words has every word of the document as it is spelt, for the correction of spelling.
				"words": terms(object{"index_options": "docs"}),
				// vec has the embeddings of the passages; see packVectors.
				"vec": stored,
				"p": object{"type": "nested", "properties": object{
					"n":    object{"type": "integer", "index": false},
					"len":  object{"type": "integer", "index": false},
					"all":  terms(object{"index_options": "freqs", "norms": true}),
					"text": terms(object{"store": true, "copy_to": []string{"p.all", "held"}}),
				}},
			},
		},
	}
}
