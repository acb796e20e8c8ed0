extension Range<Int> {
    /// Runs work concurrently for each index and returns the results in order.
    func asyncMap<Value: Sendable>(_ work: @escaping @Sendable (Int) async -> Value) async -> [Value] {
        if count == 1 { return [await work(lowerBound)] }
        return await withTaskGroup(of: (Int, Value).self) { group in
            for index in self { group.addTask { (index, await work(index)) } }
            var found: [Int: Value] = [:]
            for await (index, value) in group { found[index] = value }
            return compactMap { found[$0] }
        }
    }
}
