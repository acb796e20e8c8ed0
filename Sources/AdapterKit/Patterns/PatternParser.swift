import Experimentation

/// Parses a regular expression into instructions.
///
/// Their distances are relative, so that parts can be joined and repeated unchanged.
struct PatternParser {
    typealias Instruction = BoundedPattern.Instruction
    typealias Program = [Instruction]

    static let digit = BoundedPattern.Scalars(ranges: [0x30...0x39])
    static let word = BoundedPattern.Scalars(ranges: [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    static let space = BoundedPattern.Scalars(ranges: [0x09...0x0D, 0x20...0x20, 0x85...0x85, 0xA0...0xA0])
    private static let deepest = 50
    private static let mostRepetitions = 1_000

    private let text: [Unicode.Scalar]
    private var position = 0
    private var depth = 0

    init(_ text: [Unicode.Scalar]) { self.text = text }

    mutating func whole() throws(ExperimentationError) -> Program {
        let program = try alternatives()
        guard position == text.count else { throw refusal("a closing bracket without an opening one") }
        try Self.limit(program.count)
        return program
    }

    private static func limit(_ length: Int) throws(ExperimentationError) {
        guard length <= BoundedPattern.largestProgram else {
            throw ExperimentationError(.configuration, "a pattern repeats too much")
        }
    }

    private func refusal(_ reason: String) -> ExperimentationError {
        ExperimentationError(.configuration, "the pattern has \(reason) at character \(position + 1)")
    }

    private var current: Unicode.Scalar? { position < text.count ? text[position] : nil }

    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard current == scalar else { return false }
        position += 1
        return true
    }

    private mutating func alternatives() throws(ExperimentationError) -> Program {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.deepest else { throw refusal("too many groups in one another") }
        var branches = [try sequence()]
        while skip("|") { branches.append(try sequence()) }
        var program = branches.removeLast()
        for branch in branches.reversed() {
            let (choice, end) = (Instruction.split(1, branch.count + 2), Instruction.jump(program.count + 1))
            program = Array([[choice], branch, [end], program].joined())
        }
        return program
    }

    private mutating func sequence() throws(ExperimentationError) -> Program {
        var program: Program = []
        while let scalar = current, scalar != "|", scalar != ")" { program += try quantified() }
        return program
    }

    private mutating func quantified() throws(ExperimentationError) -> Program {
        var program = try atom()
        while let (least, most) = try quantifier() {
            if skip("+") { throw refusal("a possessive quantifier, which isn't read,") }
            program = try Self.repeated(program, least, most, isGreedy: !skip("?"))
        }
        return program
    }

    private static func repeated(
        _ body: Program,
        _ least: Int,
        _ most: Int?,
        isGreedy: Bool
    ) throws(ExperimentationError) -> Program {
        guard !body.isEmpty else { return body }
        let length = body.count + 1
        let optional = most.map { $0 - least }
        try limit(least * body.count + (optional ?? 1) * length)
        func choice(_ distance: Int) -> Instruction { isGreedy ? .split(1, distance) : .split(distance, 1) }
        var program: Program = []
        for _ in 0..<least { program += body }
        guard let optional else {
            program.append(choice(length + 1))
            program += body
            program.append(.jump(-length))
            return program
        }
        for left in stride(from: optional, to: 0, by: -1) {
            program.append(choice(left * length))
            program += body
        }
        return program
    }

    private mutating func quantifier() throws(ExperimentationError) -> (Int, Int?)? {
        if skip("*") { return (0, nil) }
        if skip("+") { return (1, nil) }
        if skip("?") { return (0, 1) }
        guard current == "{" else { return nil }
        let start = position
        position += 1
        guard let least = number() else {
            position = start
            throw refusal("a brace that is no quantifier")
        }
        var most: Int? = least
        if skip(",") { most = number() }
        guard skip("}") else { throw refusal("a quantifier that isn't closed") }
        guard least <= Self.mostRepetitions, most ?? 0 <= Self.mostRepetitions, most ?? least >= least else {
            throw refusal("a number of repetitions that isn't read")
        }
        return (least, most)
    }

    private mutating func number() -> Int? {
        var value: Int?
        while let scalar = current, Self.digit.contains(scalar.value) {
            value = min((value ?? 0) * 10 + Int(scalar.value - 0x30), 1_000_000)
            position += 1
        }
        return value
    }

    private mutating func atom() throws(ExperimentationError) -> Program {
        guard let scalar = current else { return [] }
        position += 1
        switch scalar {
        case ".": return [.take(.init(ranges: [0x0A...0x0A, 0x0D...0x0D], isNegated: true))]
        case "^": return [.require(.start)]
        case "$": return [.require(.end)]
        case "[": return [.take(try scalarClass())]
        case "\\": return try escape()
        case "(":
            if skip("?") {
                guard skip(":") else { throw refusal("a group of a kind that isn't read") }
            }
            let program = try alternatives()
            guard skip(")") else { throw refusal("a group that isn't closed") }
            return program
        case "*", "+", "?", "{":
            position -= 1
            throw refusal("a quantifier with nothing before it")
        default: return [.take(.init(ranges: [scalar.value...scalar.value]))]
        }
    }

    private mutating func escape() throws(ExperimentationError) -> Program {
        if skip("b") { return [.require(.boundary)] }
        if skip("B") { return [.require(.noBoundary)] }
        if skip("A") { return [.require(.start)] }
        if skip("z") || skip("Z") { return [.require(.end)] }
        return [.take(try escapedScalars())]
    }

    private mutating func escapedScalars() throws(ExperimentationError) -> BoundedPattern.Scalars {
        guard let scalar = current else { throw refusal("a lone backslash") }
        position += 1
        switch scalar {
        case "d": return Self.digit
        case "w": return Self.word
        case "s": return Self.space
        case "D": return .init(ranges: Self.digit.ranges, isNegated: true)
        case "W": return .init(ranges: Self.word.ranges, isNegated: true)
        case "S": return .init(ranges: Self.space.ranges, isNegated: true)
        case "n": return .init(ranges: [0x0A...0x0A])
        case "r": return .init(ranges: [0x0D...0x0D])
        case "t": return .init(ranges: [0x09...0x09])
        default:
            guard !Self.word.contains(scalar.value) else { throw refusal("an escape that isn't read") }
            return .init(ranges: [scalar.value...scalar.value])
        }
    }

    private mutating func scalarClass() throws(ExperimentationError) -> BoundedPattern.Scalars {
        var result = BoundedPattern.Scalars(ranges: [], isNegated: skip("^"))
        var isFirst = true
        while let scalar = current, scalar != "]" || isFirst {
            isFirst = false
            position += 1
            var low = scalar.value
            if scalar == "\\" {
                let escaped = try escapedScalars()
                guard !escaped.isNegated else { throw refusal("a negated escape in a class, which isn't read,") }
                guard escaped.ranges.count == 1, let only = escaped.ranges.first, only.count == 1 else {
                    result.ranges += escaped.ranges
                    continue
                }
                low = only.lowerBound
            } else if scalar == "[" {
                throw refusal("a class within a class, which isn't read,")
            }
            guard current == "-", position + 1 < text.count, text[position + 1] != "]" else {
                result.ranges.append(low...low)
                continue
            }
            position += 1
            var high = text[position].value
            position += 1
            if high == 0x5C {
                guard let only = try escapedScalars().ranges.first, only.count == 1 else {
                    throw refusal("a range that ends in a class")
                }
                high = only.lowerBound
            }
            guard low <= high else { throw refusal("a range that runs backwards") }
            result.ranges.append(low...high)
        }
        guard skip("]") else { throw refusal("a class that isn't closed") }
        return result
    }
}
