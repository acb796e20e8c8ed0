import AdapterKit

/// Reading never traps, and reading a document twice has the same result.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let tree = try? XMLReader.parse(bytes) else { return 0 }
    guard (try? XMLReader.parse(bytes)) == tree else { fatalError("a document is read in two ways") }
    return 0
}
