extension Range<Int> {
    /// Does something for each index at once, and waits for all of it.
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
