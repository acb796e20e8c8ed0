import Experimentation

/// A plan's text with the line of each key, for error messages.
struct PlanText {
    let name: String
    let value: FlagValue
    private let lines: [String: Int]

    /// Reads JSON.
    ///
    /// - Throws: ``ErrorCode/configuration`` with the line.
    init(_ bytes: [UInt8], name: String) throws(ExperimentationError) {
        do throws(JSONFault) {
            value = try JSONParser.document(bytes, deepest: 32)
        } catch {
            throw ExperimentationError(.configuration, "\(name): \(error.message)")
        }
        var index = LineIndex(bytes)
        index.read("")
        self.name = name
        lines = index.lines
    }

    /// Returns a fault as an error, with the line of its key or of the nearest enclosing one.
    func error(_ fault: PlanFault) -> ExperimentationError {
        var path = Substring(fault.key)
        while !path.isEmpty, lines[String(path)] == nil {
            path = path.lastIndex { $0 == "." || $0 == "[" }.map { path[..<$0] } ?? ""
        }
        return ExperimentationError(.configuration, "\(name):\(lines[String(path)] ?? 1): \(fault)")
    }
}

/// Finds the line of each key in a JSON text that is known to be well formed.
private struct LineIndex {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private(set) var lines: [String: Int] = [:]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private mutating func step() {
        if current == 10 { line += 1 }
        position += 1
    }

    private mutating func skip(_ others: Set<UInt8>) {
        while position < bytes.count, others.contains(current) { step() }
    }

    private static let between = Set(" \t\r\n,:\u{FEFF}".utf8)

    mutating func read(_ path: String) {
        skip(Self.between)
        lines[path] = lines[path] ?? line
        switch current {
        case UInt8(ascii: "{"):
            step()
            skip(Self.between)
            while position < bytes.count, current != UInt8(ascii: "}") {
                let place = line
                let name = text()
                let key = path.isEmpty ? name : "\(path).\(name)"
                lines[key] = place
                read(key)
                skip(Self.between)
            }
            step()
        case UInt8(ascii: "["):
            step()
            skip(Self.between)
            var index = 0
            while position < bytes.count, current != UInt8(ascii: "]") {
                read("\(path)[\(index)]")
                index += 1
                skip(Self.between)
            }
            step()
        case UInt8(ascii: "\""): _ = text()
        default: while position < bytes.count, !Set(" \t\r\n,]}".utf8).contains(current) { step() }
        }
    }

    private mutating func text() -> String {
        let start = position
        step()
        while position < bytes.count, current != UInt8(ascii: "\"") {
            if current == UInt8(ascii: "\\") { step() }
            step()
        }
        step()
        guard
            case .string(let text)? = try? JSONParser.document(
                Array(bytes[start..<min(position, bytes.count)]),
                deepest: 1
            )
        else { return "" }
        return text
    }
}
