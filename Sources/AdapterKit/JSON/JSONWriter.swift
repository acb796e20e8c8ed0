import Experimentation

/// Writes JSON, without recursion.
struct JSONWriter {
    /// What is left to write.
    private enum Step {
        case value(FlagValue)
        case field(String, FlagValue)
        case bytes(String)
        case leave
    }

    private let order: JSON.KeyOrder
    private let deepest: Int
    private var steps: [Step] = []
    private var depth = 0
    private var bytes: [UInt8] = []

    init(order: JSON.KeyOrder, deepest: Int) {
        self.order = order
        self.deepest = deepest
    }

    mutating func write(_ value: FlagValue) throws(ExperimentationError) -> [UInt8] {
        steps = [.value(value)]
        while let step = steps.popLast() {
            switch step {
            case .value(let value): try begin(value)
            case .field(let key, let value):
                string(key)
                bytes.append(UInt8(ascii: ":"))
                try begin(value)
            case .bytes(let text): bytes.append(contentsOf: text.utf8)
            case .leave: depth -= 1
            }
        }
        return bytes
    }

    private mutating func begin(_ value: FlagValue) throws(ExperimentationError) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        case .int(let number): bytes.append(contentsOf: String(number).utf8)
        case .double(let number):
            guard number.isFinite else {
                throw ExperimentationError(.invalidArgument, "a number that is infinite or none can't be written")
            }
            bytes.append(contentsOf: number.description.utf8)
        case .string(let text): string(text)
        case .array(let values):
            try enter()
            bytes.append(UInt8(ascii: "["))
            steps.append(contentsOf: [.leave, .bytes("]")])
            push(values.map(Step.value))
        case .object(let fields):
            try enter()
            bytes.append(UInt8(ascii: "{"))
            steps.append(contentsOf: [.leave, .bytes("}")])
            push(keys(of: fields).compactMap { key in fields[key].map { .field(key, $0) } })
        }
    }

    private mutating func enter() throws(ExperimentationError) {
        depth += 1
        guard depth <= deepest else {
            throw ExperimentationError(.invalidArgument, "a value is nested in more than \(deepest) levels")
        }
    }

    /// Puts the steps on the stack so that the first comes off first, with commas between.
    private mutating func push(_ inner: [Step]) {
        for (index, step) in inner.enumerated().reversed() {
            steps.append(step)
            if index > 0 { steps.append(.bytes(",")) }
        }
    }

    private func keys(of fields: [String: FlagValue]) -> [String] {
        let sorted = fields.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard case .first(let leading) = order else { return sorted }
        let leaders = leading.filter { fields[$0] != nil }
        return leaders + sorted.filter { !leading.contains($0) }
    }

    private mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: #"\\"#.utf8)
            case 0x0a: bytes.append(contentsOf: #"\n"#.utf8)
            case 0x0d: bytes.append(contentsOf: #"\r"#.utf8)
            case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                bytes.append(contentsOf: (digits.count == 1 ? #"\u000"# : #"\u00"#).utf8)
                bytes.append(contentsOf: digits.utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
