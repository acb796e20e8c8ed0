extension RandomAccessCollection where Index == Int {
    /// Returns the position of the first element that isn't before what is sought, or the end; the elements are sorted.
    @inlinable
    package func position(where isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
