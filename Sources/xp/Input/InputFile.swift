import ComparisonKit
import ConformanceKit
import Experimentation
import Foundation

/// A file named on the command line.
enum InputFile {
    /// Reads a whole file, up to a size limit in bytes.
    static func bytes(of path: String, atMost limit: Int = SourceDocument.largest) throws -> [UInt8] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw missing(path)
        }
        guard !isFolder.boolValue else { throw Failure(.input, "\(path): expected a file, found a folder") }
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw Failure(.input, "\(path): can't be read; expected a file that may be opened")
        }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: limit + 1) ?? Data() else {
            throw Failure(.input, "\(path): can't be read")
        }
        guard data.count <= limit else { throw Failure(.input, "\(path): is larger than \(limit >> 20) MB") }
        return [UInt8](data)
    }

    /// Returns the failure for a missing file.
    static func missing(_ path: String) -> Failure {
        Failure(.input, path.isEmpty ? "expected the name of a file, found an empty one" : "\(path): no such file")
    }

    /// Whether a path leads to a regular file rather than a device, pipe or socket.
    static func isRegular(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: resolved(path))
        return attributes?[.type] as? FileAttributeType == .typeRegular
    }

    private static func resolved(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path }

    /// Reads a JSON or YAML document, told apart by extension, otherwise by the first character.
    static func document(_ path: String) throws -> SourceDocument { try document(bytes(of: path), named: path) }

    /// Reads the document in a file's bytes.
    static func document(_ bytes: [UInt8], named path: String) throws -> SourceDocument {
        do throws(DocumentError) {
            return isYAML(path, bytes)
                ? try YAMLText.document(bytes, name: path)
                : try SourceDocument(json: bytes, name: path)
        } catch {
            throw Failure(error)
        }
    }

    private static func isYAML(_ path: String, _ bytes: [UInt8]) -> Bool {
        let ending = path.split(separator: ".").last.map { $0.lowercased() }
        if ending == "yaml" || ending == "yml" { return true }
        if ending == "json" { return false }
        let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first != nil && first != UInt8(ascii: "{") && first != UInt8(ascii: "[")
    }
}
