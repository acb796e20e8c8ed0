import ComparisonKit
import ConformanceKit
import Experimentation

/// Parses YAML with the command line's own reader, to which this folder has a link, and then a scenario from the
/// result.
///
/// Whatever is accepted could also be written as JSON.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do throws(DocumentError) {
        let document = try YAMLText.document(bytes, name: "s.yaml")
        let deepest = SourceDocument.deepest + 1
        guard document.value.depth(upTo: deepest + 1) <= deepest else { fatalError("a document is too deep") }
        guard document.value.isFinite else { fatalError("a number isn't finite") }
        _ = try? Scenario(document)
    } catch {
        guard error.document.hasPrefix("s.yaml") else { fatalError("an error doesn't say where") }
    }
    return 0
}
