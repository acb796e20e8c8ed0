import ComparisonKit
import ConformanceKit
import Experimentation

/// Reads a document in YAML by the command line's own reader, which this folder links to, and a scenario from that.
///
/// What was read is what a document in JSON could be.
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
