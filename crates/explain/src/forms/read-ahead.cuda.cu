// As the step is launched:
auto next_data = std::async(std::launch::async, read_file, path);
// After it:
std::vector<char> data = next_data.get();
