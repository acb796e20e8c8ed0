import AdapterKit
import EngageAdapter
import Experimentation
import FuzzVendor

/// Lets the adapter read an answer of its vendor.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    readAnswer(start, count) { transport in
        EngageProvider(
            configuration: EngageConfiguration(
                endpoint: Endpoint(https: "example.com"),
                credentials: .init(clientID: "i", clientSecret: "s", refreshToken: "r"),
                listID: "1"
            ),
            transport: transport
        )
    }
    return 0
}
