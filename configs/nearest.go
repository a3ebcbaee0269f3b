package configs

// Nearest is the candidate with the fewest edits from word, "" when none is near enough to be meant.
func Nearest(word string, candidates []string) string {
	best, bestAt := "", len(word)/3+2
	for _, c := range candidates {
		if d := edits(word, c); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// edits is the Levenshtein distance in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
