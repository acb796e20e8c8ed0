import ComparisonKit
import ConformanceKit
import Experimentation

/// A parsed world survives a round trip; a scenario is parsed or rejected.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let world = try? World(json: bytes) {
        guard let written = try? world.json(), let again = try? World(json: written), again == world else {
            fatalError("a world doesn't survive being written")
        }
    }
    if let document = try? SourceDocument(json: bytes, name: "s.json") { _ = try? Scenario(document) }
    return 0
}
