import Foundation

@testable import Experimentation

/// Decodes what the client stores between runs: rules with their header, decisions, assignments, the progress of
/// linking.
///
/// Skips the digest in front of each of them, as if it matched.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let stored = StoredRuleset(written: bytes) {
        guard let again = StoredRuleset(written: stored.written), again.raw == stored.raw else {
            fatalError("rules don't survive being written")
        }
    }
    let data = Data(bytes)
    if let stored = try? JSONDecoder().decode(StoredDecisions.self, from: data) {
        let decisions = stored.decisions
        for key in decisions.keys { _ = decisions[key] }
        _ = StoredDecisions(decisions, date: stored.date)
    }
    _ = try? JSONDecoder().decode([String: String].self, from: data)
    _ = try? JSONDecoder().decode(LinkProgress.self, from: data)
    return 0
}
