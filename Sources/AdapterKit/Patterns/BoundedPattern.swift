import Experimentation

/// A regular expression that can't hang: it follows all alternatives at once, in time proportional to the
/// product of the pattern's and the text's lengths, whatever the pattern.
///
/// Literals, `.`, classes with ranges and negation, `\d \w \s` and their opposites, groups, alternation, `* + ? {n,m}`
/// with their reluctant forms, `^ $ \b \B`. What requires backtracking (back references, look-around) is refused.
/// Matches are those that a backtracking engine finds: the leftmost, by order of preference.
///
/// For patterns or texts from outside, which Foundation's and Swift's backtracking engines may take forever to match.
package struct BoundedPattern: Sendable, Hashable {
    /// The maximum length of a pattern, in characters.
    static let longestPattern = 500
    /// The maximum number of instructions of a pattern.
    static let largestProgram = 5_000
    /// The maximum length of a text; a longer one has no match.
    package static let longestText = 4_096

    struct Scalars: Sendable, Hashable {
        var ranges: [ClosedRange<UInt32>]
        var isNegated = false
        func contains(_ scalar: UInt32) -> Bool { ranges.contains { $0.contains(scalar) } != isNegated }
    }

    enum Place: Sendable, Hashable { case start, end, boundary, noBoundary }

    enum Instruction: Sendable, Hashable {
        case take(Scalars)
        case require(Place)
        /// Follows both branches, the first preferred; each is a distance, as for a jump.
        case split(Int, Int)
        case jump(Int)
        case match
    }

    let program: [Instruction]

    /// Parses a pattern.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the unsupported construct, without the pattern.
    package init(_ pattern: String) throws(ExperimentationError) {
        guard pattern.unicodeScalars.count <= Self.longestPattern else {
            throw ExperimentationError(.configuration, "a pattern is longer than \(Self.longestPattern) characters")
        }
        var parser = PatternParser(Array(pattern.unicodeScalars))
        program = try parser.whole() + [.match]
    }

    /// Returns the number of matches that don't overlap, counted up to a limit.
    package func count(in text: String, upTo limit: Int) -> Int {
        let scalars = text.unicodeScalars.map(\.value)
        guard scalars.count <= Self.longestText else { return 0 }
        var count = 0
        var position = 0
        while position <= scalars.count, count < limit, let match = first(in: scalars, from: position) {
            count += 1
            position = match.upperBound > match.lowerBound ? match.upperBound : match.upperBound + 1
        }
        return count
    }

    private struct Thread {
        var counter: Int
        var start: Int
    }

    private func first(in text: [UInt32], from: Int) -> Range<Int>? {
        var current: [Thread] = []
        var seen = [Int](repeating: -1, count: program.count)
        var found: Range<Int>?
        for position in from...text.count {
            if found == nil { add(Thread(counter: 0, start: position), at: position, in: text, to: &current, &seen) }
            var next: [Thread] = []
            step: for thread in current {
                switch program[thread.counter] {
                case .match:
                    found = thread.start..<position
                    // Less preferred threads are dropped; more preferred ones may still match further on.
                    break step
                case .take(let scalars) where position < text.count && scalars.contains(text[position]):
                    let moved = Thread(counter: thread.counter + 1, start: thread.start)
                    add(moved, at: position + 1, in: text, to: &next, &seen)
                default: continue
                }
            }
            current = next
            if current.isEmpty, found != nil { break }
        }
        return found
    }

    /// Follows instructions that consume nothing, with an explicit stack.
    private func add(
        _ thread: Thread,
        at position: Int,
        in text: [UInt32],
        to list: inout [Thread],
        _ seen: inout [Int]
    ) {
        var stack = [thread.counter]
        while let counter = stack.popLast() {
            guard seen[counter] != position else { continue }
            seen[counter] = position
            switch program[counter] {
            case .jump(let distance): stack.append(counter + distance)
            case .split(let first, let second): stack += [counter + second, counter + first]
            case .require(let place):
                if Self.holds(place, at: position, in: text) { stack.append(counter + 1) }
            case .take, .match: list.append(Thread(counter: counter, start: thread.start))
            }
        }
    }

    private static func holds(_ place: Place, at position: Int, in text: [UInt32]) -> Bool {
        func isWord(_ index: Int) -> Bool { text.indices.contains(index) && PatternParser.word.contains(text[index]) }
        switch place {
        case .start: return position == 0
        case .end: return position == text.count
        case .boundary: return isWord(position - 1) != isWord(position)
        case .noBoundary: return isWord(position - 1) == isWord(position)
        }
    }
}
