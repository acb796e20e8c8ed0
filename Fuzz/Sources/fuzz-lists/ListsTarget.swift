import EngageAdapter
import Experimentation

/// Applies a property list to a configuration, which must then be valid or unchanged.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let settings = try? EngageConfiguration(
        host: "https://example.com",
        credentials: .init(clientID: "i", clientSecret: "s", refreshToken: "r"),
        listID: ""
    )
    guard var configuration = settings else { fatalError("a plain address isn't taken") }
    let names = configuration.attributes
    let registry = EngageRegistry(generators: ["Generator": { "g" }])
    do throws(ExperimentationError) {
        try configuration.merge(propertyList: bytes, file: "p", registry: registry)
        guard (try? configuration.validate()) != nil else { fatalError("a configuration isn't valid") }
    } catch {
        guard error.code == .configuration, error.message.hasPrefix("p: ") else { fatalError("\(error)") }
        guard configuration.listID.isEmpty, configuration.attributes == names else { fatalError("half of it was read") }
    }
    return 0
}
