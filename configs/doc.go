// Package configs is what a crawl can be told, from every place that may say it.
//
// There is one struct, [Config], whose keys have one name everywhere: the flag --max-pages, the key max-pages in a YAML
// file, the variable AMBLE_MAX_PAGES. A value is parsed by the same code wherever it comes from. Later layers win:
//
//	defaults (default.yaml, embedded) < the user's file < JOB/amble.yaml < --config FILE < environment < flags
//
// A list in a later layer replaces the earlier one. Loading is strict: an unknown key is an error that names file, line
// and the nearest known key. [Config.Validate] checks what only makes sense together, and is where a crawl's security
// defaults are decided: who must leave a contact, which agents are refused, and what is for hosts of one's own alone.
// [Config.Scheduler] turns the result into what the scheduler takes.
package configs
