/// Lets other tasks go first, so many times.
func yield(times: Int) async {
    for _ in 0..<times { await Task.yield() }
}

/// Lets other tasks go first until something is so.
func yield(until condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}
