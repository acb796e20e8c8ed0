import ComparisonKit
import ConformanceKit
import Experimentation
import Yams

/// Reads YAML as a document with line numbers; accepts only what JSON can represent.
enum YAMLText {
    /// Reads a document.
    ///
    /// Limits the number of values with aliases expanded, since a few aliases can expand to gigabytes.
    static func document(_ bytes: [UInt8], name: String) throws(DocumentError) -> SourceDocument {
        func refused(_ problem: String, _ line: Int? = nil) -> DocumentError {
            DocumentError(document: line.map { "\(name):\($0)" } ?? name, path: "", problem: problem)
        }
        // The parser doesn't accept a byte order mark as white space.
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        guard bytes.contains(where: { $0 > 0x20 }) else { throw refused("is empty; expected a YAML mapping") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw refused("expected text in UTF-8") }
        if let line = YAMLDepth.excess(of: bytes, over: SourceDocument.deepest) {
            throw refused("is nested more than \(SourceDocument.deepest) levels deep", line)
        }
        let node: Node?
        do {
            node = try Yams.compose(yaml: text)
        } catch let error as YamlError {
            let (problem, line) = explain(error)
            throw refused(problem, line)
        } catch {
            throw refused("is not valid YAML")
        }
        guard let node else { throw refused("is empty; expected a YAML mapping") }
        var lines: [String: Int] = [:]
        var reading = Reading(name: name)
        let value = try reading.value(of: node, at: "", depth: 0, &lines)
        return SourceDocument(name: name, value: value, lines: lines)
    }

    private static let mostValues = 100_000

    private static func explain(_ error: YamlError) -> (String, Int?) {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ("is not valid YAML: \(problem)", mark.line)
        case .duplicatedKeysInMapping(let keys, let context):
            ("the key \(keys.first.map { "\"\($0)\"" } ?? "") is there twice", context.mark.line)
        default: ("is not valid YAML", nil)
        }
    }

    private struct Reading {
        let name: String
        private var count = 0

        init(name: String) { self.name = name }

        mutating func value(
            of node: Node,
            at path: String,
            depth: Int,
            _ lines: inout [String: Int]
        ) throws(DocumentError) -> FlagValue {
            if lines[path] == nil, let line = node.mark?.line { lines[path] = line }
            guard depth <= SourceDocument.deepest else {
                throw refused("is nested more than \(SourceDocument.deepest) levels deep", node, path)
            }
            count += 1
            guard count <= YAMLText.mostValues else {
                throw refused("is larger than \(YAMLText.mostValues) values, aliases written out", node, "")
            }
            switch node {
            case .scalar(let scalar): return try self.scalar(scalar, node, path)
            case .sequence(let sequence):
                var values: [FlagValue] = []
                for (index, element) in sequence.enumerated() {
                    values.append(try value(of: element, at: "\(path)[\(index)]", depth: depth + 1, &lines))
                }
                return .array(values)
            case .mapping(let mapping):
                var values: [String: FlagValue] = [:]
                for (key, element) in mapping {
                    guard let key = key.scalar?.string else {
                        throw refused("expected keys that are texts", node, path)
                    }
                    if key == "<<" { throw refused("merge keys aren't read; write the members out", node, path) }
                    let place = path.isEmpty ? key : "\(path).\(key)"
                    if let line = element.mark?.line { lines[place] = line }
                    values[key] = try value(of: element, at: place, depth: depth + 1, &lines)
                }
                return .object(values)
            case .alias: throw refused("aliases aren't read; write the value out", node, path)
            }
        }

        private func scalar(_ scalar: Node.Scalar, _ node: Node, _ path: String) throws(DocumentError) -> FlagValue {
            switch node.tag.rawValue {
            case Tag.Name.null.rawValue: return .null
            case Tag.Name.bool.rawValue:
                if let value = Bool.construct(from: scalar) { return .bool(value) }
            case Tag.Name.int.rawValue:
                if let value = Int.construct(from: scalar) { return .int(value) }
                if let value = Double(scalar.string), value.isFinite { return .double(value) }
            case Tag.Name.float.rawValue:
                guard let value = Double.construct(from: scalar), value.isFinite else {
                    throw refused("expected a finite number, found \(scalar.string)", node, path)
                }
                return .double(value)
            default: break
            }
            return .string(scalar.string)
        }

        private func refused(_ problem: String, _ node: Node, _ path: String) -> DocumentError {
            let place = node.mark.map { "\(name):\($0.line)" } ?? name
            return DocumentError(document: place, path: path, problem: problem)
        }
    }
}
