import AdapterKit
import Experimentation
import FlagshipAdapter
import FuzzVendor

/// Lets the adapter read an answer of its vendor, as decisions and as bucketing rules.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    for mode in [FlagshipConfiguration.Mode.decisionAPI, .bucketing] {
        readAnswer(start, count) { transport in
            FlagshipProvider(
                configuration: FlagshipConfiguration(environmentID: "bkk9glocmjcg0vtmdlng", apiKey: "k", mode: mode),
                transport: transport
            )
        }
    }
    return 0
}
